"""Keys that are added to tables."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0001_initial")]
    operations = [
        migrations.AddField(
            "customer", "code", models.SlugField(null=True, unique=True)),
        migrations.AlterField(
            "product", "name", models.CharField(max_length=100, unique=True)),
        migrations.AddField("order", "place", models.IntegerField(null=True)),
        migrations.AddConstraint("order", models.UniqueConstraint(
            fields=["place"], name="order_place",
            deferrable=models.Deferrable.DEFERRED)),
        migrations.AddConstraint("customer", models.UniqueConstraint(
            fields=["name", "code"], name="customer_name_code",
            nulls_distinct=False, include=["email"])),
    ]
