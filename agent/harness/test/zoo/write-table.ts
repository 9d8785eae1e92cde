/** `npm run dev -- providers`: writes docs/providers.md, and fails if a server does not reach the end. */
import { writeFileSync } from 'node:fs'
import { PAGE, pageOf, visitAll } from './table.ts'

const visits = await visitAll()
writeFileSync(new URL(`../../../../${PAGE}`, import.meta.url), pageOf(visits))
for (const { name, failures } of visits)
  for (const [step, reason] of Object.entries(failures)) console.error(`${name}, ${step}: ${reason}`)
console.log(`Wrote ${PAGE}: ${visits.length} servers.`)
if (visits.some(({ failures }) => Object.keys(failures).length > 0)) process.exitCode = 1
