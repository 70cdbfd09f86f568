const x =
