import { expect, test } from 'vitest'
import { htmlToText } from './html-text.ts'
import { SMALL_PAGE } from './readable-page.ts'

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
      '# Hi there!\n\nSome text, more text.\nnext line\n\n- one\n- two\n  - deep\n\n 1. a\n 2. b\n\n```\n  ' +
      'x = 1\n  y = 2\n```\n\nk | v\n1 | 2',
  })
})

test.each([
  ['<a href="other">here</a>', 'here (https://example.org/dir/other)'],
  ['<a href="https://x.example/">there</a>', 'there (https://x.example/)'],
  ['<a href="#top">up</a>', 'up'],
  ['<a href="javascript:alert(1)">no</a>', 'no'],
  ['<a href="mailto:a@b.example">write</a>', 'write'],
  // A link without text, such as one around a picture, is its address.
  ['<a href="/x"></a>', 'https://example.org/x'],
  ['<a href=/q?a=1&amp;b=2>q</a>', 'q (https://example.org/q?a=1&b=2)'],
  ['caf&eacute; &#8364; &#x1F600; &unknown; &amp;lt;', 'café € 😀 &unknown; &lt;'],
  ['&#0;&#xD800;', '\ufffd\ufffd'],
  ['a<b and 1 < 2', 'a'],
  ['1 < 2 > 0', '1 < 2 > 0'],
  ["<p title=it's>one</p><p class='x'>two</p>", 'one\n\ntwo'],
  // An attribute without an end takes the rest of the page, as in a browser.
  ['<p>one</p><p title="never closed>two</p>', 'one'],
  ['<head><title>t</title><body>no end of head', 'no end of head'],
  ['<img src=x alt="A cat">', '[image: A cat]'],
  ['<svg><title>drawn</title><text>x</text></svg>after', 'after'],
  ['<textarea><b>raw</b></textarea>', '<b>raw</b>'],
  ['<table><tr><td><p>a</p></td><td><p>b</p></td></tr></table>', 'a | b'],
  ['use <code>npm</code>:<pre><code>a\n  b</code></pre>', 'use `npm`:\n\n```\na\n  b\n```'],
  // Roman numbers end at 3999.
  ['<ol type="i" start="5000"><li>x</ol>', '5000. x'],
  ['<script>never closed', ''],
  ['', ''],
])('%s reads as %s', (html, expected) => {
  expect(text(html)).toBe(expected)
})

test('leaves out what is nested too deep', () => {
  expect(text(`${'<div>'.repeat(200)}in${'</div>'.repeat(200)}`)).toBe('in')
  expect(text(`${'<div>'.repeat(20_000)}in`)).toBe('…')
})

/** Processor time of this thread in milliseconds, the minimum of three tries. */
function costOf(page: string): number {
  const tries = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage()
    text(page)
    const { user, system } = process.threadCpuUsage(before)
    return (user + system) / 1000
  })
  return Math.min(...tries)
}

// Pages are untrusted. What takes quadratic time stays short at the length that the event loop converts.
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
  '<b></i>',
  '<blockquote>x',
  '<table><tr><td colspan=1000000000 rowspan=1000000000>',
  '<ol start=1e300 type=i><li>',
])('a page of %j takes less than a second on the event loop', piece => {
  expect(costOf(piece.repeat(SMALL_PAGE / piece.length))).toBeLessThan(1000)
})

test('a page of many lines nested deep takes less than a second on the event loop', () => {
  const deep = '<blockquote>'.repeat(250)
  expect(costOf(deep + 'x<br>'.repeat((SMALL_PAGE - deep.length) / 5))).toBeLessThan(1000)
})
