"""Columns with keys that change their type, with foreign keys and without."""

import sqlalchemy as sa
from alembic import op

revision = "alter"
down_revision = "add"


def change(integer, length):
    op.alter_column("customers", "email", type_=sa.String(length))
    op.alter_column("orders", "id", type_=integer)
    op.alter_column("orders", "number", type_=integer)
    # Foreign keys that refer to a key of sware go first, and come back.
    op.drop_constraint("orders_customer", "orders")
    op.alter_column("customers", "id", type_=integer)
    op.alter_column("orders", "customer_id", type_=integer)
    op.create_foreign_key("orders_customer", "orders", "customers", ["customer_id"],
                          ["id"], ondelete="CASCADE", onupdate="CASCADE")


def upgrade():
    change(sa.BigInteger, 200)


def downgrade():
    change(sa.Integer, 100)
