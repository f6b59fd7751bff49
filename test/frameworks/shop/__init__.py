"""A Django application that is nothing but migrations: see check_django.py."""
