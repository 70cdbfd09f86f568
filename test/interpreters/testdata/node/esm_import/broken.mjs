export const x =
