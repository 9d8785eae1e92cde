/** Regular expressions of server profiles, compiled once each. */
const compiled = new Map<string, RegExp>()

export function matcherOf(pattern: string): (text: string) => boolean {
  let known = compiled.get(pattern)
  if (known === undefined) {
    known = new RegExp(pattern)
    compiled.set(pattern, known)
  }
  const { test } = RegExp.prototype
  const matcher = known
  return text => test.call(matcher, text)
}
