package tools

// nonblock is nothing: Windows has no pipes among its files.
const nonblock = 0
