"""Keys that are added to tables."""

import sqlalchemy as sa
from alembic import op

revision = "add"
down_revision = "initial"


def upgrade():
    op.add_column("customers", sa.Column("code", sa.String(10)))
    op.create_unique_constraint("customers_code", "customers", ["code"])
    op.add_column("orders", sa.Column("place", sa.BigInteger))
    op.create_unique_constraint("orders_place", "orders", ["place"], deferrable=True,
                                initially="DEFERRED")
    op.create_table("keyless", sa.Column("id", sa.Integer, nullable=False))
    op.create_primary_key("keyless_pkey", "keyless", ["id"])


def downgrade():
    op.drop_table("keyless")
    op.drop_constraint("orders_place", "orders")
    op.drop_column("orders", "place")
    op.drop_column("customers", "code")
