// `count-tests.mjs REPORT…` prints the end of a run from vitest's JSON reports: flaky tests, failed tests,
// and the count as the last line. Exits with 1 when a test failed, when a report is empty, or when no test
// ran.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const texts = process.argv.slice(2).map(path => readFileSync(path, 'utf8'))
const files = texts.filter(text => text !== '').flatMap(text => JSON.parse(text).testResults)
const count = { passed: 0, failed: 0, skipped: 0 }
const failed = []
const flaky = []

/** The message without its stack. */
const firstLines = (message = '') =>
  message
    .split('\n')
    .filter(line => !/^\s*at /.test(line) && line.trim() !== '')
    .slice(0, 6)
    .map(line => `    ${line.slice(0, 300)}`)
    .join('\n')
const describe = (word, name, message) => `${word}: ${name}\n${firstLines(message)}`

for (const file of files) {
  const path = relative(process.cwd(), file.name)
  for (const { status, fullName, failureMessages = [] } of file.assertionResults) {
    if (status === 'passed' || status === 'failed') count[status] += 1
    else count.skipped += 1
    const name = `${path} > ${fullName}`
    if (status === 'failed') failed.push(describe('failed', name, failureMessages.at(-1)))
    // A test that passes keeps the messages of its earlier attempts.
    if (status === 'passed' && failureMessages.length > 0)
      flaky.push(describe('flaky', name, failureMessages[0]))
  }
  // A file that does not load has no tests to count, yet it is a failure.
  if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed')) {
    count.failed += 1
    failed.push(describe('failed', path, file.message))
  }
}

for (const text of [...flaky, ...failed]) console.log(text)
if (flaky.length > 0)
  console.log(
    `${flaky.length} flaky: failed once and passed on retry. Fix each as a failed test (docs/testing.md).`,
  )
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
// A run without a test is a run that broke, never a success.
if (count.failed > 0 || count.passed === 0 || texts.includes('')) process.exitCode = 1
