"""Keys of tables that are made."""

import sqlalchemy as sa
from alembic import op

revision = "initial"
down_revision = None


def upgrade():
    op.create_table(
        "customers",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("email", sa.String(100), nullable=False, unique=True),
        sa.Column("name", sa.Text),
    )
    op.create_table(
        "orders",
        sa.Column("id", sa.Integer, sa.Identity(), primary_key=True),
        sa.Column("customer_id", sa.Integer, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.ForeignKeyConstraint(["customer_id"], ["customers.id"], ondelete="CASCADE",
                                onupdate="CASCADE", name="orders_customer"),
        sa.UniqueConstraint("customer_id", "number", name="orders_number"),
    )
    op.create_table(
        "products",
        sa.Column("sku", sa.String(20)),
        sa.Column("variant", sa.Uuid),
        sa.Column("price", sa.Numeric(10, 2)),
        sa.PrimaryKeyConstraint("sku", "variant"),
    )


def downgrade():
    for table in ("products", "orders", "customers"):
        op.drop_table(table)
