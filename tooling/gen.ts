/** Writes the files derived from the contracts, the code and the tests; --check only reports stale ones. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generated as fromApi } from '@cairn/api/generate'
import { generated as fromCompat } from '@cairn/compat/generate'
import { generated as fromProtocol } from '@cairn/protocol/generate'
import { generated as fromOps } from '@cairn-tune/ops/generate'
import { generated as fromServing } from '@cairn-tune/serve/generate'
import { generated as fromTraining } from '@cairn-tune/train/generate'
import { commandsPage } from './commands-page.ts'
import { foldVersionModule } from './fold-version.ts'
import { promisesPage } from './promises.ts'
import { type OpenApi, pythonClient } from './python-client.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const isCheck = process.argv.includes('--check')

const stale: string[] = []
function write(files: Record<string, string>): void {
  for (const [path, text] of Object.entries(files)) {
    const file = join(root, path)
    if (existsSync(file) && readFileSync(file, 'utf8') === text) continue
    stale.push(path)
    if (isCheck) continue
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
}

const api = await fromApi()
write({
  ...(await fromProtocol()),
  ...api,
  ...(await fromCompat()),
  ...pythonClient(JSON.parse(api['docs/openapi.json'] ?? '') as OpenApi),
  ...(await fromOps()),
  ...(await fromTraining()),
  ...(await fromServing()),
  'docs/commands.md': commandsPage(),
  'docs/promises.md': promisesPage(),
})
// The fold imports generated modules, so its version is computed once they are written.
write({ 'agent/state/src/fold-version.ts': await foldVersionModule() })

if (isCheck && stale.length > 0) {
  console.error(`Not up to date: ${stale.join(', ')}\nRun: npm run gen`)
  process.exitCode = 1
} else {
  console.log(stale.length === 0 ? 'Generated files are up to date.' : `Wrote ${stale.join(', ')}`)
}
