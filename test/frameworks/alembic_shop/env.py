"""Alembic runs revisions in the connection that check_alembic.py has opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
