// Prints the end of a test run from vitest's JSON report, the last lines of a log being what people see: the
// tests that passed only when they were tried again, those that failed, and the count. Fails where the run
// did.
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

const text = readFileSync(process.argv[2], 'utf8')
const report = text === '' ? { testResults: [] } : JSON.parse(text)
const count = { passed: 0, failed: 0, skipped: 0 }
const failed = []
const unsteady = []

/** What a person needs to know it again: the message without its stack. */
const firstLines = (message = '') =>
  message
    .split('\n')
    .filter(line => !/^\s*at /.test(line) && line.trim() !== '')
    .slice(0, 6)
    .map(line => `    ${line.slice(0, 300)}`)
    .join('\n')
const tell = (word, name, message) => `${word}: ${name}\n${firstLines(message)}`

for (const file of report.testResults) {
  const path = relative(process.cwd(), file.name)
  for (const { status, fullName, failureMessages = [] } of file.assertionResults) {
    if (status === 'passed' || status === 'failed') count[status] += 1
    else count.skipped += 1
    const name = `${path} > ${fullName}`
    if (status === 'failed') failed.push(tell('failed', name, failureMessages.at(-1)))
    // A test that passes keeps the messages of the tries before.
    if (status === 'passed' && failureMessages.length > 0)
      unsteady.push(tell('unsteady', name, failureMessages[0]))
  }
  // A file that does not load has no tests to count, yet it is a failure.
  if (file.status === 'failed' && !file.assertionResults.some(({ status }) => status === 'failed')) {
    count.failed += 1
    failed.push(tell('failed', path, file.message))
  }
}

for (const told of [...unsteady, ...failed]) console.log(told)
if (unsteady.length > 0)
  console.log(
    `${unsteady.length} unsteady: failed once and passed when tried again. Each is a defect to mend ` +
      '(docs/testing.md).',
  )
console.log(`${count.passed} passed, ${count.failed} failed, ${count.skipped} skipped`)
// No test at all is a run that broke, never a success.
if (count.failed > 0 || count.passed === 0) process.exitCode = 1
