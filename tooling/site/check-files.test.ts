import { expect, test } from 'vitest'
import { deadLinks, loadsFromElsewhere } from './check-files.ts'

const pages = [
  { route: '', html: '<a href="install/#two">x</a><a href="/missing/">x</a><a href="#none">x</a>' },
  { route: 'install/', html: '<h2 id="two"></h2><a href="../">x</a><a href="#_top">x</a><img src="a.png">' },
  { route: 'tune/', html: '<a href="../install/#three">x</a><a href="https://x.org/">x</a>' },
]

test('names links to pages, anchors and files that do not exist', () => {
  expect(deadLinks(pages, new Set(['install/index.html']))).toEqual([
    '/: /missing/',
    '/: #none',
    '/install/: a.png',
    '/tune/: ../install/#three',
  ])
})

test('accepts a file that exists', () => {
  const files = new Set(['install/a.png'])
  expect(deadLinks([pages[1]!, { route: '', html: '' }], files)).toEqual([])
})

test.each([
  ['<script src="https://x.org/a.js">', 'https://x.org/a.js'],
  ['<script type="module" src="//x.org/a.js">', '//x.org/a.js'],
  ['<link rel="stylesheet" href="https://x.org/a.css">', 'https://x.org/a.css'],
  ['<link href="https://x.org/a.css" rel="stylesheet">', 'https://x.org/a.css'],
  ['<img alt="" src="http://x.org/a.png">', 'http://x.org/a.png'],
  ['<style>@import "https://x.org/b.css";</style>', 'https://x.org/b.css'],
])('%s loads from another origin', (html, link) => {
  expect(loadsFromElsewhere([{ route: 'a/', html }], [])).toEqual([`/a/: ${link}`])
})

test('a style sheet that loads a font from another origin is named', () => {
  const css = 'a { src: url("https://x.org/f.woff2") }'
  expect(loadsFromElsewhere([], [{ route: 'a.css', css }])).toEqual(['/a.css: https://x.org/f.woff2'])
})

test('links to follow, canonical links and shown code load nothing', () => {
  const html =
    '<a href="https://x.org/">x</a><link rel="canonical" href="https://x.org/"><code>url(https://x.org)</code>' +
    '<img src="/a.png"><style>a { background: url(b.png) }</style>'
  expect(loadsFromElsewhere([{ route: '', html }], [])).toEqual([])
})
