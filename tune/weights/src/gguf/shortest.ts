/** The shortest decimal that rounds to a file's f32: 1e-5, not 0.000009999999747378752. */
export function shortest(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === Math.fround(value)) return short
  }
  return value
}
