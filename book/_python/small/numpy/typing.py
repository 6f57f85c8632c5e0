"""The names of types, which nothing here looks at."""

NDArray = list
ArrayLike = object
