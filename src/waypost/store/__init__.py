"""The record of everything: tables, migrations and the functions that read and write them."""
