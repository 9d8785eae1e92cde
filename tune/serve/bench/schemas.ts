/**
 * Answers of random weights at temperature 1 to every schema of the published suite, repeated until enough
 * are finished. Each is validated. Argument: how many (500). Exit code 1 if one is wrong.
 */
import { openFixture } from '../test/server-fixture.ts'
import { listSchemas, trySchema } from '../test/schema-suite.ts'

const wanted = Number(process.argv[2] ?? 500)
const server = await openFixture()
const schemas = listSchemas()
const refused = new Set<string>()
let [valid, unfinished, wrong, seed] = [0, 0, 0, 0]
while (valid + wrong < wanted) {
  const some = schemas.filter(({ name }) => !refused.has(name))
  const verdicts = await Promise.all(some.map(one => trySchema(server, one, ++seed)))
  for (const { name, schema, verdict, text } of verdicts) {
    if (verdict === 'valid') valid++
    if (verdict === 'unfinished') unfinished++
    if (verdict === 'refused') {
      refused.add(name)
      console.log(`refused  ${name}: ${text.replace(/^400 structured_outputs: /, '')}`)
    }
    if (verdict === 'wrong') {
      wrong++
      console.log(`WRONG    ${name}: ${JSON.stringify(schema)} got ${text}`)
    }
  }
}
await server.close()
console.log(
  `${schemas.length} schemas, ${refused.size} refused; finished answers: ${valid} valid, ${wrong} wrong; ` +
    `${unfinished} were cut by max_tokens`,
)
process.exitCode = wrong === 0 ? 0 : 1
