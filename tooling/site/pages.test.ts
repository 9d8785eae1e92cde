import { expect, test } from 'vitest'
import { folderPage, routeOf, sidebarOf, sitePage } from '../../docs/site/pages.ts'

const pages = new Set([
  'README.md',
  'install.md',
  'tune/README.md',
  'tune/data.md',
  'decisions/README.md',
  'decisions/0001-x.md',
  'changelog.md',
])
const textOf = (path: string, markdown: string): string => sitePage(path, markdown, pages).text

test.each([
  ['README.md', ''],
  ['install.md', 'install/'],
  ['tune/README.md', 'tune/'],
  ['tune/data.md', 'tune/data/'],
])('%s has the route "%s"', (path, route) => {
  expect(routeOf(path)).toBe(route)
})

test('the first heading becomes the title, and the line of the kind the description', () => {
  const page = sitePage(
    'install.md',
    '<!-- # no heading -->\n```sh\n# no heading\n```\n\n# Use `cairn` "here"\n\n*How-to. For people who\ninstall.*\n\ntext\n',
    pages,
  )
  expect(page.title).toBe('Use cairn "here"')
  expect(page.text).toMatch(
    /^---\ntitle: "Use cairn \\"here\\""\ndescription: "For people who install\."\n---\n/,
  )
  expect(page.text).not.toContain('# Use')
  expect(page.text).toContain('# no heading\n```')
})

test('a page without a heading is an error that names it', () => {
  expect(() => sitePage('install.md', 'text', pages)).toThrow('docs/install.md has no heading')
})

test.each([
  ['install.md', '[a](tune/data.md#csv)', '[a](../tune/data/#csv)'],
  ['tune/data.md', '[a](../install.md)', '[a](../../install/)'],
  ['tune/data.md', '[a](README.md)', '[a](../)'],
  ['tune/README.md', '[a](data.md)', '[a](data/)'],
  ['README.md', '[a](README.md)', '[a](./)'],
  ['tune/data.md', '[a](../README.md)', '[a](../../)'],
  ['README.md', '[a](decisions/)', '[a](decisions/)'],
  ['install.md', '[a](../CHANGELOG.md)', '[a](../changelog/)'],
  ['install.md', '[a](#here) [b](https://x.org)', '[a](#here) [b](https://x.org)'],
  ['install.md', '[the `code`](tune/data.md)', '[the `code`](../tune/data/)'],
  ['install.md', '`[a](tune/data.md)`', '`[a](tune/data.md)`'],
  ['install.md', '```\n[a](tune/data.md)\n```', '```\n[a](tune/data.md)\n```'],
  ['install.md', '[`a.ts`](../agent/a.ts), [b](../README.md)', '`a.ts`, b'],
  ['tune/data.md', '[a](loss/a.csv)', '[a](../loss/a.csv)'],
  ['tune/data.md', '![a](loss/a.svg)', '![a](loss/a.svg)'],
])('in %s, %s becomes %s', (path, link, expected) => {
  expect(textOf(path, `# Title\n\n${link}\n`)).toContain(`\n\n${expected}\n`)
})

test('links of a page outside docs/ are resolved from its file', () => {
  const { text } = sitePage(
    'changelog.md',
    '# T\n[a](docs/install.md) [b](README.md)',
    pages,
    '../CHANGELOG.md',
  )
  expect(text).toContain('[a](../install/) b')
})

test('files and pictures of a page are copied', () => {
  const { files, pictures } = sitePage('tune/data.md', '# T\n[a](loss/a.csv) ![b](../shots/b.png)', pages)
  expect({ files, pictures }).toEqual({ files: ['tune/loss/a.csv'], pictures: ['shots/b.png'] })
})

test('the sidebar has the headings of the index as groups and each page once', () => {
  const readme = [
    '# Documentation',
    '[Install](install.md)',
    '## Start',
    '- [Install `cairn`](install.md): how',
    '- Also [Tune](tune/README.md),',
    '  [data](tune/data.md)',
    'A sentence with [a link](changelog.md).',
    '## Reference',
    '### Tune',
    '| page | covers |',
    '| [Data again](tune/data.md) | |',
    '- [Changes](../CHANGELOG.md)',
    '## More',
    '- [Decisions](decisions/)',
  ].join('\n')
  const titles = new Map([...pages].map(path => [path, `title of ${path}`]))
  expect(sidebarOf(readme, titles)).toEqual([
    {
      label: 'Start',
      collapsed: false,
      items: [
        { label: 'Install cairn', link: '/install/' },
        { label: 'Tune', link: '/tune/' },
        { label: 'data', link: '/tune/data/' },
      ],
    },
    {
      label: 'Reference',
      collapsed: true,
      items: [{ label: 'Tune', collapsed: false, items: [{ label: 'Changes', link: '/changelog/' }] }],
    },
    {
      label: 'More',
      collapsed: true,
      items: [
        {
          label: 'Decisions',
          collapsed: true,
          items: [{ label: 'title of decisions/0001-x.md', link: '/decisions/0001-x/' }],
        },
      ],
    },
  ])
})

test('a folder without a page gets a list of its pages', () => {
  expect(folderPage('Decisions', [{ path: 'decisions/0001-x.md', title: '1. X' }])).toBe(
    '# Decisions\n\n- [1. X](0001-x.md)\n',
  )
})
