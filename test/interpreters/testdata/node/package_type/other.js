export const x = typeof module
