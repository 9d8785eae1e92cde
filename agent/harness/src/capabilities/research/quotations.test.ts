/** In an accepted report every marker is a source, and every quotation is in its source. */
import { expect, test } from 'vitest'
import { checkReport, holds } from './quotations.ts'

const PAGE =
  'The highest tides of the world are measured in the Bay of Fundy,\n  where the water rises by 16 metres.'
const sources = [
  { number: 1, texts: [PAGE] },
  { number: 2, texts: ['It’s the moon that pulls on the water — twice a day, as everybody knows by now.'] },
]
const TRUE = 'tides of the world are measured in the Bay of Fundy'
const FALSE = 'tides of the world are never measured in the Bay of Fundy'

/**
 * Promise 14.5: A research report with a fabricated quotation is refused with a list of the invalid
 * quotations.
 */
test.each<[what: string, markdown: string, problems: string[]]>([
  ['a quotation of its source', `It says: "${TRUE}" [S1].`, []],
  ['one that its source does not have', `It says: "${FALSE}" [S1].`, ['not_in_source']],
  ['one that another source has', `It says: "${TRUE}" [S2].`, ['not_in_source']],
  ['one of either of two sources', `It says: "${TRUE}" [S2][S1].`, []],
  ['one of either of two sources in one marker', `It says: "${TRUE}" [S2, S1].`, []],
  ['one whose marker comes later in the paragraph', `“${TRUE}”, they write, and so it is [S1].`, []],
  ['one without a marker that no source has', `They say "${FALSE}".\n\nThe rest [S1].`, ['not_in_source']],
  ['one without a marker that some source has', `They say "${TRUE}".\n\nThe rest [S1].`, []],
  ['a fabricated one in guillemets', `«${FALSE}» [S1]`, ['not_in_source']],
  ['a fabricated one in low quotation marks', `„${FALSE}“ [S1]`, ['not_in_source']],
  ['a fabricated one that is never closed', `So: "${FALSE} [S1]`, ['not_in_source']],
  ['a fabricated block quote', `> ${FALSE}\n> [S1]`, ['not_in_source']],
  ['a block quote with its marker behind it', `> ${TRUE}\n\nSo they write [S1].`, []],
  ['a short term in quotation marks', 'The "spring tide" is the highest [S1].', []],
  ['words left out, in order', '"The highest tides … measured in the Bay of Fundy" [S1]', []],
  [
    'words left out, out of order',
    '"measured in the Bay of Fundy … The highest tides of the world" [S1]',
    ['not_in_source'],
  ],
  [
    'other white space, marks and case',
    '"it\'s the moon that PULLS on the\n water - *twice* a day" [S2]',
    [],
  ],
  [
    'a stop that is not in the source',
    '"the water rises by 16 metres in the Bay of Fundy" [S1]',
    ['not_in_source'],
  ],
  ['a quotation within code', `\`\`\`\n"${FALSE}" [S1]\n\`\`\`\n\nThe rest [S1].`, []],
  ['an unknown marker, named once', 'A [S3]. B [S3].\n\nC [S1].', ['unknown_marker']],
  ['no marker at all', 'All of it is so.', ['no_markers']],
  ['several at once', `"${FALSE}" [S1]. See [S7].`, ['unknown_marker', 'not_in_source']],
])('checks a report with %s', (_, markdown, problems) => {
  expect(checkReport(markdown, sources, true).problems.map(({ problem }) => problem)).toEqual(problems)
})

test('counts paragraphs without a marker, except headings and tables', () => {
  const markdown = '# Tides\n\nThey are high [S1].\n\nThat is all.\n\n| a | b |\n|---|---|\n\nThe end.'
  expect(checkReport(markdown, sources, true)).toMatchObject({ unmarked: 2, cited: [1], problems: [] })
})

test('in mode metric a report needs no sources, but its quotations must be in one', () => {
  expect(checkReport('It is faster now.', [], false).problems).toEqual([])
  expect(checkReport(`It says "${TRUE}".`, [], false).problems).toHaveLength(1)
})

test('an empty quotation is in no source', () => {
  expect([holds(PAGE, '…'), holds(PAGE, ' '), holds('', 'a b c')]).toEqual([false, false, false])
})
