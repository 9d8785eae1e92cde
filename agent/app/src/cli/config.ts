/** cairn config: shows the configuration that the service would start with. */
import { maskConfig, showConfig } from '../config/show-config.ts'
import { describeEdited, editedHere } from './edited-settings.ts'
import { defineCommand, takePositionals } from './command.ts'
import { EXIT } from '../exit.ts'
import { readServiceOptions } from './read-service-options.ts'

export const config = defineCommand({
  name: 'config',
  summary: 'Show the configuration with its defaults, secrets masked',
  usage: [['config', 'read cairn.yaml and the environment as serve does, and print the result as YAML']],
  options: {},
  async run({ values, positionals }, io) {
    takePositionals(positionals, [])
    const { config, demo, file, dataDir, workspacesDir, database, host, port } = readServiceOptions(io.env)
    const edited = await editedHere(dataDir)
    const places = {
      file,
      data: dataDir,
      workspaces: workspacesDir,
      database: database?.address.shown ?? null,
      address: `${host}:${port}`,
      demo,
    }
    if (values.json) {
      io.out(`${JSON.stringify({ ...places, edited, config: maskConfig(config) })}\n`)
      return EXIT.ok.code
    }
    io.note(`file        ${file ?? 'none, all defaults'}`)
    io.note(`data        ${dataDir}`)
    io.note(`workspaces  ${workspacesDir}`)
    io.note(`store       ${places.database ?? 'embedded, in the data directory'}`)
    io.note(`address     ${places.address}`)
    for (const line of describeEdited(edited)) io.note(line)
    io.out(showConfig(config))
    return EXIT.ok.code
  },
})
