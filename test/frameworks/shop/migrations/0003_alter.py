"""Columns with keys that change their type, with foreign keys and without."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0002_add")]
    operations = [
        migrations.AlterField("customer", "id", models.BigAutoField(primary_key=True)),
        migrations.AlterField("order", "id", models.BigAutoField(primary_key=True)),
        migrations.AlterField(
            "product", "sku", models.CharField(max_length=40, primary_key=True)),
        migrations.AlterField(
            "customer", "email", models.EmailField(max_length=200, unique=True)),
        migrations.AlterField("order", "number", models.BigIntegerField()),
        migrations.RenameField("order", "number", "label"),
        migrations.AlterField("order", "label", models.CharField(max_length=30)),
        migrations.RenameModel("Token", "Voucher"),
    ]
