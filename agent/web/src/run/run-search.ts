/** The keys of the address of the Run view. Anyone can write an address, so the view reads them as unknown. */

/**
 * `at` names the event of the selected step, and `of` its session if that is a worker; `from` and `to` are
 * the visible part, in milliseconds since the start of the run.
 */
export type RunSearch = { at?: unknown; of?: unknown; from?: unknown; to?: unknown }

type Wanted = { at: number | undefined; of: string | undefined; from: number; to: number | undefined }

export const readRunSearch = ({ at, of, from, to }: RunSearch): Wanted => ({
  at: positive(at),
  of: typeof of === 'string' ? of : undefined,
  from: positive(from) ?? 0,
  to: positive(to),
})

const positive = (value: unknown): number | undefined => {
  const number = Number(value)
  return Number.isInteger(number) && number > 0 ? number : undefined
}
