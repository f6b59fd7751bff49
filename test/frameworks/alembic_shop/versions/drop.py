"""Keys that are dropped, and one in another one's place."""

from alembic import op

revision = "drop"
down_revision = "alter"


def upgrade():
    op.drop_constraint("customers_code", "customers")
    op.drop_constraint("orders_place", "orders")
    op.drop_constraint("orders_pkey", "orders")
    op.create_primary_key("orders_pkey", "orders", ["customer_id", "id"])
    op.drop_table("keyless")


def downgrade():
    raise NotImplementedError
