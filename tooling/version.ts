/** The version of both products, written by `npm run version X.Y.Z`. */
export const VERSION = '0.0.0'
