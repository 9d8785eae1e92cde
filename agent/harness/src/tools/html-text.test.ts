import { expect, test } from 'vitest'
import { htmlToText } from './html-text.ts'

const text = (html: string) => htmlToText(html, 'https://example.org/dir/page').text

test('keeps the structure of a page and drops what is not text', () => {
  const page = htmlToText(
    '<!doctype html><html><head><title>A &amp; B</title><style>p { color: red }</style></head><body>\n' +
      '    <!-- not shown --><h1>Hi <b>there</b>!</h1><p>Some   text,\n' +
      '    more text.<br>next line</p><script>if (a < b) document.write("<p>no</p>")</script>\n' +
      '    <ul><li>one<li>two<ul><li>deep</ul></ul><ol><li>a</li><li>b</li></ol>\n' +
      `    <pre>  x = 1\n  y = ` +
      '<b>2</b></pre><table><tr><th>k<th>v</tr><tr><td>1</td><td>2</td></tr></table></body></html>',
    'https://example.org/',
  )
  expect(page).toEqual({
    title: 'A & B',
    text:
      '# Hi there!\n\nSome text, more text.\nnext line\n\n- one\n- two\n  - deep\n\n1. a\n2. b\n\n```\n  ' +
      'x = 1\n  y = 2\n```\n\nk | v\n1 | 2',
  })
})

test.each([
  ['<a href="other">here</a>', 'here (https://example.org/dir/other)'],
  ['<a href="https://x.example/">there</a>', 'there (https://x.example/)'],
  ['<a href="#top">up</a>', 'up'],
  ['<a href="javascript:alert(1)">no</a>', 'no'],
  ['<a href="/x"></a>', ''],
  ['<a href=/q?a=1&amp;b=2>q</a>', 'q (https://example.org/q?a=1&b=2)'],
  ['caf&eacute; &#8364; &#x1F600; &unknown; &amp;lt;', 'café € 😀 &unknown; &lt;'],
  ['&#0;&#xD800;', '\ufffd\ufffd'],
  ['a<b and 1 < 2', 'a'],
  ['1 < 2 > 0', '1 < 2 > 0'],
  ["<p title=it's>one</p><p class='x'>two</p>", 'one\n\ntwo'],
  ['<p title="never closed>one</p><p>two</p>', 'one\n\ntwo'],
  ['<head><title>t</title><body>no end of head', 'no end of head'],
  ['<img src=x alt="A cat">', '[image: A cat]'],
  ['<svg><title>drawn</title><text>x</text></svg>after', 'after'],
  ['<textarea><b>raw</b></textarea>', '<b>raw</b>'],
  ['<script>never closed', ''],
  ['', ''],
])('%s reads as %s', (html, expected) => {
  expect(text(html)).toBe(expected)
})

const MEASURABLE_MS = 20

/**
 * Processor time of this thread in milliseconds, without the load of the machine: the minimum of three tries,
 * or the first below `enough`.
 */
function costOf(piece: string, characters: number, enough = 0): number {
  const page = piece.repeat(Math.ceil(characters / piece.length))
  let least = Infinity
  for (let tries = 0; tries < 3 && least >= enough; tries++) {
    const before = process.threadCpuUsage()
    text(page)
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1000)
  }
  return least
}

// Pages are untrusted: each of these made a quadratic reader hang. A page four times as long costs four times
// as much, or sixteen times as much where a reader is quadratic.
test.each([
  '<!',
  '<a "',
  `<a ='"`,
  '</script',
  '<script>',
  '<ul><li>x',
  '<svg></head>',
  '<a href=x>',
  '<pre>',
  '<',
  '<p>x</p>',
  '&#1;',
  '<a ',
  '<!-- ',
])('four times the characters of %j cost about four times as much', piece => {
  // At a few milliseconds, garbage collection may dominate. Growing from small, the loop stops a quadratic
  // reader at a third of a second and never builds a page that takes hours.
  let characters = 8_000
  while (characters < 1_000_000 && costOf(piece, characters) < MEASURABLE_MS) characters *= 2
  const bound = 10 * Math.max(MEASURABLE_MS, costOf(piece, characters))
  expect(costOf(piece, 4 * characters, bound)).toBeLessThan(bound)
})
