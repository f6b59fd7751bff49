"""Keys that are dropped."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("shop", "0003_alter")]
    operations = [
        migrations.RemoveConstraint("order", "order_place"),
        migrations.RemoveConstraint("customer", "customer_name_code"),
        migrations.AlterField("customer", "code", models.SlugField(null=True)),
        migrations.AlterUniqueTogether("order", set()),
        migrations.RemoveField("order", "place"),
        migrations.RemoveField("customer", "favourites"),
        migrations.DeleteModel("Voucher"),
    ]
