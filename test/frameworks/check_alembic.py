"""Migrations by Alembic and queries of SQLAlchemy with keys of sware, compared with nbtree's.

Called by run, which makes the databases; the environment says how to reach them.
"""

import pathlib
import sys
import uuid

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, declarative_base

import twins

both = twins.Twins("alembic")
engines = {
    kind: sa.create_engine("postgresql+psycopg://", connect_args={"dbname": database})
    for kind, database in both.databases.items()
}
Base = declarative_base()


class Customer(Base):
    __tablename__ = "customers"
    id = sa.Column(sa.BigInteger, primary_key=True)
    email = sa.Column(sa.String(200), nullable=False, unique=True)
    name = sa.Column(sa.Text)
    code = sa.Column(sa.String(10))
    __table_args__ = (sa.UniqueConstraint("code", name="customers_code"),)


class Order(Base):
    __tablename__ = "orders"
    id = sa.Column(sa.BigInteger, sa.Identity(), primary_key=True)
    customer_id = sa.Column(sa.BigInteger, sa.ForeignKey(
        "customers.id", name="orders_customer", ondelete="CASCADE", onupdate="CASCADE"),
        nullable=False)
    number = sa.Column(sa.BigInteger, nullable=False)
    place = sa.Column(sa.BigInteger)
    __table_args__ = (
        sa.UniqueConstraint("customer_id", "number", name="orders_number"),
        sa.UniqueConstraint("place", name="orders_place", deferrable=True,
                            initially="DEFERRED"),
    )


class Product(Base):
    __tablename__ = "products"
    sku = sa.Column(sa.String(20), primary_key=True)
    variant = sa.Column(sa.Uuid, primary_key=True)
    price = sa.Column(sa.Numeric(10, 2))


class Keyless(Base):
    __tablename__ = "keyless"
    id = sa.Column(sa.Integer, primary_key=True, autoincrement=False)


def migrate(revision):
    def run(kind):
        config = Config()
        config.set_main_option(
            "script_location", str(pathlib.Path(__file__).parent / "alembic_shop"))
        with engines[kind].begin() as connection:
            config.attributes["connection"] = connection
            step = command.downgrade if revision.startswith("-") else command.upgrade
            step(config, revision.removeprefix("-"))

    both.compare(f"{revision}: applied", run)
    both.check(revision)


def autogenerate(kind):
    """What Alembic would change in the database to get the tables of this file."""
    with engines[kind].connect() as connection:
        difference = compare_metadata(MigrationContext.configure(connection), Base.metadata)
    if difference:
        raise ValueError(str(difference))


def refused(session, statement, *values):
    """Does a key refuse it? What went before in the transaction stays."""
    try:
        with session.begin_nested():
            session.execute(statement, *values)
            session.execute(sa.text("SET CONSTRAINTS ALL IMMEDIATE"))
    except IntegrityError as error:
        return str(error.orig)
    return None


def rows(session, statement, *values):
    return [tuple(row) for row in session.execute(statement, *values)]


def use(kind):
    """Typical queries; returns what they found."""
    found = []
    variant = uuid.UUID(int=7)
    with Session(engines[kind]) as session:
        shown = session.scalar(sa.text("SHOW sware.use_for_keys"))
        if (shown == "on") != (kind == "sware"):
            return f"the setting is {shown} for {kind}"

        session.add_all(
            [Customer(email=f"{i}@example.org", name=f"name {i}") for i in range(1000)])
        session.flush()
        session.add_all([Order(customer_id=i % 10 + 1, number=i, place=i) for i in range(2000)])
        session.execute(insert(Product), [
            {"sku": f"sku {i}", "variant": variant, "price": i} for i in range(500)])
        session.commit()

        product = insert(Product)
        again = [{"sku": f"sku {i}", "variant": variant, "price": -i} for i in range(495, 505)]
        found += rows(session, product.on_conflict_do_nothing().returning(Product.sku), again)
        for target in ({"index_elements": ["sku", "variant"]},
                       {"constraint": "products_pkey"}):
            found += rows(session, product.on_conflict_do_update(
                set_={"price": product.excluded.price - 1}, **target,
            ).returning(Product.sku, Product.price), again)
        found += rows(session, insert(Customer).values(
            email="7@example.org", name="seventh", code="seven",
        ).on_conflict_do_update(
            constraint="customers_email_key", set_={"name": "again"}, where=Customer.id < 100,
        ).returning(Customer.id, Customer.name, Customer.code))
        session.merge(Product(sku="sku 3", variant=variant, price=3000))
        session.merge(Product(sku="sku 3000", variant=variant, price=3000))
        session.commit()

        session.execute(sa.update(Order).values(place=Order.place + 1))
        session.commit()
        found.append(refused(session, sa.update(Order).values(place=9).where(Order.place == 8)))
        found.append(refused(session, insert(Customer).values(email="7@example.org")))
        found.append(refused(session, insert(Order).values(customer_id=-1, number=1)))
        found.append(refused(session, insert(Order).values(customer_id=1, number=10)))
        session.execute(sa.update(Customer).values(id=5000).where(Customer.id == 5))
        session.execute(sa.delete(Customer).where(Customer.id == 6))
        session.commit()
        found.append(session.get(Customer, 5000).email)
        found += rows(session, sa.select(Order.customer_id, sa.func.count(), sa.func.max(Order.place))
                      .group_by(Order.customer_id).order_by(Order.customer_id))
        found += rows(session, sa.select(Customer.email, Order.number).join(Order)
                      .where(Order.number.between(100, 120)).order_by(Order.number))
        found += rows(session, sa.select(Order.place).order_by(Order.place).limit(10)
                      .with_for_update(skip_locked=True))
        found += rows(session, sa.select(Product.sku, Product.price)
                      .order_by(Product.sku, Product.variant))
        # whose columns the primary key decides
        found += rows(session, sa.select(Customer.name, sa.func.count(Order.id)).join(Order)
                      .group_by(Customer.id).order_by(Customer.id))
    return found


for revision in ("initial", "add", "alter"):
    migrate(revision)
both.compare("autogenerate finds no difference", autogenerate)
both.compare("queries", use)
both.check("after the queries")
for revision in ("-add", "alter", "drop"):
    migrate(revision)
sys.exit(both.failed > 0)
