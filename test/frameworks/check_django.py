"""Migrations and queries of Django with keys of sware, compared with nbtree's.

The migrations are Django's own, and those of the application "shop". Called by run,
which makes the databases; the environment says how to reach them.
"""

import os
import sys

import django
from django.conf import settings

import twins

both = twins.Twins("django")
settings.configure(
    DATABASES={
        kind: {
            "ENGINE": "django.db.backends.postgresql", "NAME": database,
            "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
            "USER": os.environ["PGUSER"],
        }
        for kind, database in both.databases.items()
    } | {"default": {}},
    INSTALLED_APPS=[
        "django.contrib.contenttypes", "django.contrib.auth", "django.contrib.sessions",
        "django.contrib.sites", "django.contrib.admin", "shop",
    ],
    SITE_ID=1, USE_TZ=True,
)
django.setup()

from django.core.management import call_command  # noqa: E402
from django.db import IntegrityError, connections, models, transaction  # noqa: E402
from django.db.migrations.executor import MigrationExecutor  # noqa: E402


def migrate(*target):
    name = " ".join(target) if target else "all migrations"
    both.compare(f"{name}: applied", lambda kind: call_command(
        "migrate", *target, database=kind, verbosity=0, skip_checks=True))
    both.check(name)


def models_at(kind, migration):
    """The models as they are after a migration."""
    loader = MigrationExecutor(connections[kind]).loader
    return loader.project_state(("shop", migration)).apps


def rows(queryset):
    return [tuple(row) for row in queryset]


def refused(function, *arguments, using, **values):
    """Does a key refuse it, in its statement or at the end of the transaction?"""
    try:
        with transaction.atomic(using=using):
            function(*arguments, **values)
    except IntegrityError as error:
        return str(error)
    return None


def use(kind):
    """Typical queries; returns what they found."""
    apps = models_at(kind, "0003_alter")
    customers = apps.get_model("shop", "Customer").objects.using(kind)
    orders = apps.get_model("shop", "Order").objects.using(kind)
    products = apps.get_model("shop", "Product").objects.using(kind)
    Customer, Order, Product = customers.model, orders.model, products.model
    found = []
    with connections[kind].cursor() as cursor:
        cursor.execute("SHOW sware.use_for_keys")
        shown = cursor.fetchone()[0]
        if (shown == "on") != (kind == "sware"):
            return f"the setting is {shown} for {kind}"

    for number in (1, 2, 1):
        customer, created = customers.get_or_create(
            email=f"{number}@example.org", defaults={"name": f"name {number}"})
        found.append((customer.id, customer.name, created))
    customer, created = customers.update_or_create(
        email="2@example.org", defaults={"name": "another"}, create_defaults={"name": "new"})
    found.append((customer.id, customer.name, created))
    products.bulk_create(
        [Product(sku=f"sku {i}", name=f"product {i}") for i in range(2000)])
    products.bulk_create(
        [Product(sku=f"sku {i}", name=f"again {i}") for i in range(1990, 2010)],
        ignore_conflicts=True)
    products.bulk_create(
        [Product(sku=f"sku {i}", name=f"changed {i}") for i in range(2005, 2015)],
        update_conflicts=True, unique_fields=["sku"], update_fields=["name"])
    found.append(products.count())
    found += rows(products.filter(sku__gte="sku 1995", sku__lt="sku 2")
                  .order_by("sku").values_list("sku", "name"))
    found.append(sorted(products.in_bulk([f"sku {i}" for i in range(2003, 2020)])))
    found.append(refused(products.create, sku="sku 7", name="seventh", using=kind))
    found.append(refused(products.filter(sku="sku 7").update, name="product 8", using=kind))
    found.append(refused(customers.create, email="1@example.org", name="x", using=kind))
    found.append(refused(customers.bulk_create, [
        Customer(email="x@example.org", name="equal"),
        Customer(email="y@example.org", name="equal")], using=kind))

    orders.bulk_create([Order(label=str(i), customer_id=customer.id, place=i)
                        for i in range(500)])
    with transaction.atomic(using=kind):
        orders.update(place=models.F("place") + 1)
    found.append(refused(orders.create, label="7", customer_id=customer.id, using=kind))
    found.append(refused(orders.filter(label="7").update, customer_id=-1, using=kind))
    found.append(refused(orders.filter(label="7").update, place=9, using=kind))
    with transaction.atomic(using=kind):
        chosen = orders.select_for_update(skip_locked=True).order_by("place")[:5]
        found += [(order.label, order.place) for order in chosen]
    found.append(orders.aggregate(models.Max("place"), models.Count("id", distinct=True)))
    found += rows(orders.filter(customer__email="2@example.org", label__in=["3", "4"])
                  .order_by("place").values_list("label", "place", "customer__name"))

    customer.favourites.add(*products.order_by("sku")[:20])
    customer.favourites.add(*products.order_by("sku")[10:30])
    customer.favourites.remove(*products.order_by("sku")[:5])
    found += rows(customer.favourites.order_by("sku").values_list("sku"))
    customers.filter(email="1@example.org").delete()
    found.append(customers.count())
    for order in orders.order_by("place").iterator(chunk_size=100):
        found.append((order.label, order.place))
    return found


migrate()
migrate("shop", "0003_alter")
both.compare("queries", use)
both.check("after the queries")
for migration in ("0002_add", "0003_alter", "0004_drop", "0001_initial", "0004_drop"):
    migrate("shop", migration)
sys.exit(both.failed > 0)
