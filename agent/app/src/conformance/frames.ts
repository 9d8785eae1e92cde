/** Parses Server-Sent Events from text. */

export type Frame = { id: number; event: string; data: string }
/** The complete frames of a stream's text; comments and a truncated last frame are skipped. */
export function framesOf(text: string): Frame[] {
  const whole = text.slice(0, text.lastIndexOf('\n\n') + 2)
  return whole.split('\n\n').flatMap(block => {
    const field = (name: string): string | undefined =>
      block
        .split('\n')
        .find(line => line.startsWith(`${name}: `))
        ?.slice(name.length + 2)
    const data = field('data')
    return data === undefined ? [] : [{ id: Number(field('id')), event: field('event') ?? '', data }]
  })
}
