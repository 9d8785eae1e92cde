/** The page size of a listing: as requested, within bounds. */
export const pageLimit = (asked: number | undefined, standard = 50, most = 200): number =>
  Math.min(Math.max(asked ?? standard, 1), most)
