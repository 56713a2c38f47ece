"""The words everybody speaks: values, protocols, settings, errors. Standard library only."""
