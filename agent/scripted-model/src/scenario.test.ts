import { expect, test } from 'vitest'
import { ModelError } from '@cairn/models'
import { readScenario } from './scenario.ts'

const faultOf = (yaml: string): string => {
  try {
    readScenario(yaml, 'demo.yaml')
  } catch (error) {
    if (error instanceof ModelError && error.category === 'configuration') return error.message
    throw error
  }
  throw new Error('expected the scenario to be refused')
}

test('fills in defaults', () => {
  expect(readScenario('rules: [{answer: {text: hi}}]')).toEqual({
    name: 'scripted',
    pace_ms: 0,
    chunk_chars: 24,
    rules: [{ when: {}, answer: { text: 'hi' } }],
  })
})

test('a step can require that its tools are offered, or are not', () => {
  const steps = '[{text: a, needs: [x, y]}, {text: b, without: [x, y]}, {text: c}]'
  const { rules } = readScenario(`rules: [{steps: ${steps}}]`)
  expect(rules[0]?.steps).toEqual([
    { text: 'a', needs: ['x', 'y'] },
    { text: 'b', without: ['x', 'y'] },
    { text: 'c' },
  ])
  expect(faultOf('rules: [{answer: {text: a, needs: [x]}}]')).toContain('Unrecognized key: "needs"')
})

test.each([
  ['rules: []', 'rules: Too small'],
  ['rules: [{answer: {text: hi}, wen: {}}]', 'rules[0]: Unrecognized key: "wen"'],
  ['rules: [{when: {user: "("}, answer: {text: hi}}]', 'rules[0].when.user: is not a regular expression'],
  ['rules: [{answer: {text: "{{usr}}"}}]', 'rules[0].answer.text: has the unknown placeholder {{usr}}'],
  ['rules: [{answer: {text: "{{step.x}}"}}]', 'has the unknown placeholder {{step.x}}'],
  ['rules: [{answer: {}}]', 'rules[0].answer: is empty'],
  ['rules: [{steps: [{needs: [x]}]}]', 'rules[0].steps[0]: is empty'],
  ['rules: [{when: {}}]', 'rules[0]: needs either answer or steps'],
  ['rules: [{answer: {text: a}, steps: [{text: b}]}]', 'rules[0]: needs either answer or steps'],
  ['rules: [{answer: {error: {status: 200}}}]', 'rules[0].answer.error.status'],
  ['rules: [', 'demo.yaml is not YAML'],
  ['just text', 'demo.yaml is not a scenario'],
])('rejects %s and names its position', (yaml, message) => {
  expect(faultOf(yaml)).toContain(message)
  expect(faultOf(yaml)).toContain('demo.yaml')
})
