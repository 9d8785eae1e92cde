/**
 * `npm run site`: builds the site of docs/ into out/site and checks it. `--serve` shows it, and
 * `--screenshots DIR` stores what the checks see. `--run-blocks [WORD…]` runs the marked code blocks of
 * docs/.
 */
import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { buildSite, SITE } from './build.ts'
import { checkPages } from './check-pages.ts'
import { runPages } from './run-pages.ts'
import { serveFolder } from './serve.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    serve: { type: 'boolean', default: false },
    port: { type: 'string', default: '4321' },
    'run-blocks': { type: 'boolean', default: false },
    screenshots: { type: 'string' },
  },
})

if (values['run-blocks']) {
  for (const line of await runPages(positionals)) console.log(line)
} else {
  const { pages, megabytes } = buildSite()
  console.log(`${pages} pages, ${megabytes.toFixed(1)} MB in out/site; no dead link`)
  if (values.serve) {
    const { url, server } = await serveFolder(SITE, Number(values.port))
    console.log(url)
    await once(server, 'close')
  } else {
    const { url, server } = await serveFolder(SITE)
    const { lines, failures } = await checkPages(url, values.screenshots)
    server.close()
    console.log(lines.join('\n'))
    if (failures.length > 0) throw new Error(failures.join('\n'))
  }
}
