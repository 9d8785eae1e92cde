import { Config } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { reachingItself } from './demo-tools.ts'

test('opens only the port of the service to demo agents and leaves allow lists unchanged', () => {
  const egress = (rules: object) => ({ governance: { egress: rules } })
  const { agents } = Config.parse({
    agents: {
      open: {},
      more: egress({ internal: ['wiki.corp'], deny: ['*.example.net'] }),
      closed: egress({ default: 'deny', allow: ['example.org'] }),
    },
  })
  const reaching = reachingItself(agents, 'http://127.0.0.1:8787')
  expect(reaching['open']?.governance.egress.internal).toEqual(['127.0.0.1:8787'])
  expect(reaching['more']?.governance.egress).toMatchObject({
    internal: ['wiki.corp', '127.0.0.1:8787'],
    deny: ['*.example.net'],
  })
  expect(reaching['closed']).toEqual(agents['closed'])
  expect(reachingItself(agents, 'http://[::1]:80')['open']?.governance.egress.internal).toEqual(['[::1]'])
})
