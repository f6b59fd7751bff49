"""Keys of tables that are made."""

import uuid

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True
    dependencies = []
    operations = [
        migrations.CreateModel("Product", [
            ("sku", models.CharField(max_length=20, primary_key=True)),
            ("name", models.TextField()),
        ]),
        migrations.CreateModel("Customer", [
            ("id", models.AutoField(primary_key=True)),
            ("email", models.EmailField(max_length=100, unique=True)),
            ("name", models.TextField(default="")),
            ("favourites", models.ManyToManyField("shop.product")),
        ]),
        migrations.CreateModel("Order", [
            ("id", models.AutoField(primary_key=True)),
            ("number", models.IntegerField()),
            ("customer", models.ForeignKey(
                "shop.customer", on_delete=django.db.models.deletion.CASCADE)),
            ("note", models.TextField(default="")),
        ], options={"unique_together": {("customer", "number")}}),
        migrations.CreateModel("Token", [
            ("id", models.UUIDField(primary_key=True, default=uuid.uuid4)),
            ("order", models.OneToOneField(
                "shop.order", on_delete=django.db.models.deletion.CASCADE)),
        ]),
    ]
