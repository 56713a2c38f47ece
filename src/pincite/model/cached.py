"""Values of an object that are worked out once."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

T = TypeVar("T")

if sys.version_info >= (3, 12):
    from functools import cached_property as cached_property
else:

    class cached_property(Generic[T]):
        """As that of functools, without its lock.

        In Python 3.11 all objects of a class share the lock, so that searches in several threads
        wait for each other whenever one works a value out.
        """

        def __init__(self, work: Callable[[Any], T]) -> None:
            self._work = work
            self._name = work.__name__
            self.__doc__ = work.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            self._name = name

        @overload
        def __get__(self, instance: None, owner: type | None = None) -> Self: ...
        @overload
        def __get__(self, instance: object, owner: type | None = None) -> T: ...
        def __get__(self, instance: object | None, owner: type | None = None) -> Self | T:
            if instance is None:
                return self
            value = instance.__dict__[self._name] = self._work(instance)
            return value
