/** What JSON.parse does not report: where a text stops being JSON, and how deep it nests. */

/** Maximum nesting of objects and arrays; the text may be invalid. */
export function nestingDepth(text: string): number {
  let depth = 0
  let deepest = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === 0x22) i = endOfString(text, i)
    else if (code === 0x5b || code === 0x7b) deepest = Math.max(deepest, ++depth)
    else if (code === 0x5d || code === 0x7d) depth--
  }
  return deepest
}

/** Offset of the next unescaped quote, or the length of the text. */
function endOfString(text: string, open: number): number {
  for (let close = text.indexOf('"', open + 1); close !== -1; close = text.indexOf('"', close + 1)) {
    let start = close
    while (text.charCodeAt(start - 1) === 0x5c) start--
    if ((close - start) % 2 === 0) return close
  }
  return text.length
}

const TOKEN =
  /(?:(?<string>"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(?<scalar>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null)|(?<mark>[{}[\],:]))/y
const BLANK = /[ \t\r\n]*/y

type Expect = 'value' | 'value or ]' | 'key or }' | 'key' | ':' | ', or }' | ', or ]' | 'end'

/** Offset at which the text stops being JSON, and what would be valid there; null if the text is JSON. */
export function findJsonError(text: string): { position: number; expected: string } | null {
  const open: ('{' | '[')[] = []
  let expect: Expect = 'value'
  let at = 0
  const after = (): Expect => (open.length === 0 ? 'end' : open.at(-1) === '{' ? ', or }' : ', or ]')
  for (;;) {
    BLANK.lastIndex = at
    BLANK.exec(text)
    at = BLANK.lastIndex
    if (at >= text.length) return expect === 'end' ? null : { position: at, expected: expect }
    TOKEN.lastIndex = at
    const groups = TOKEN.exec(text)?.groups
    const next: Expect | null = groups === undefined ? null : step(expect, groups, open, after)
    if (next === null) return { position: at, expected: expect }
    expect = next
    at = TOKEN.lastIndex
  }
}

/** What may follow a token where `expect` was due; null if the token itself is unexpected. */
function step(
  expect: Expect,
  { string, scalar, mark }: Record<string, string | undefined>,
  open: ('{' | '[')[],
  after: () => Expect,
): Expect | null {
  const takesValue = expect === 'value' || expect === 'value or ]'
  if (string !== undefined)
    return takesValue ? after() : expect === 'key' || expect === 'key or }' ? ':' : null
  if (scalar !== undefined) return takesValue ? after() : null
  if (mark === '{' || mark === '[') {
    if (!takesValue) return null
    open.push(mark)
    return mark === '{' ? 'key or }' : 'value or ]'
  }
  if (mark === '}' || mark === ']') {
    const closes =
      mark === '}'
        ? expect === 'key or }' || expect === ', or }'
        : expect === 'value or ]' || expect === ', or ]'
    if (!closes) return null
    open.pop()
    return after()
  }
  if (mark === ',') return expect === ', or }' ? 'key' : expect === ', or ]' ? 'value' : null
  return expect === ':' ? 'value' : null
}
