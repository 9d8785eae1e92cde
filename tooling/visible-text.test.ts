/** Every text of the page is in its catalogue, agent/web/src/words, where it is reviewed and translated. */
import { expect, test } from 'vitest'
import { visibleTexts } from './visible-text.ts'
import { readSources } from './workspace.ts'

/** Names that are the same in every language, and errors that only a developer sees. */
const EXEMPT: Record<string, readonly string[]> = {
  'agent/web/src/code/language.ts': ['names of languages'],
  'agent/web/src/router.tsx': ['names of components'],
}

const sources = readSources('web').filter(
  ({ path, isTest }) => !isTest && !path.includes('/src/words/') && !(path in EXEMPT),
)

test('components contain no visible texts', () => {
  const found = sources.flatMap(({ path, text }) => visibleTexts(path, text).map(each => `${path}:${each}`))
  expect(found).toEqual([])
})

test('finds a text wherever a component can show it or expose it to a screen reader', () => {
  const component = `
    const states = { idle: 'Idle', end: 'no prose' }
    export const Example = ({ n, isOpen }) => (
      <p className="a b" title="tip" data-testid="some-id">
        plain text {isOpen ? 'opened' : 'closed'} {n > 0 && \`of \${n} parts\`} {'a ' + 'sum'}
        <input aria-label={isOpen ? 'yes' : words.closed} placeholder="type here" id="not-seen" />
        <img alt="picture" onKeyDown={event => event.key === 'Enter'} /> · {words.known} <code>cairn</code>
      </p>
    )
    say('Saved it.')`
  expect(visibleTexts('example.tsx', component)).toEqual([
    '2: Idle',
    '4: tip',
    '4: plain text',
    '5: opened',
    '5: closed',
    '5: of',
    '5: parts',
    '5: sum',
    '6: yes',
    '6: type here',
    '7: picture',
    '10: Saved it.',
  ])
})
