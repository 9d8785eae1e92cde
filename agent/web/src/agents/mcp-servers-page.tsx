/** MCP servers: how they are reached, their secrets, and a test of the connection. */
import { useMutation } from '@tanstack/react-query'
import { client } from '../api.ts'
import { agentsWords } from '../words/agents.ts'
import { ConnectionList, ConnectionTest } from './connection-list.tsx'
import { NewMcpServer } from './new-mcp-server.tsx'
import { SecretField } from './secret-field.tsx'
import { SettingCard } from './setting-card.tsx'
import { type Form, SettingField } from './setting-field.tsx'
import type { Setting } from './setting-queries.ts'
import { TestResult } from './test-result.tsx'

export const McpServersPage = () => (
  <ConnectionList
    kind="mcp_server"
    title={agentsWords.mcpServers}
    add={agentsWords.addServer}
    none={agentsWords.noServers}
    testIds={{ list: 'mcp-servers', add: 'add-mcp-server' }}
    NewForm={NewMcpServer}
  >
    {(server, { isAdmin }) => <ServerCard key={server.name} server={server} isAdmin={isAdmin} />}
  </ConnectionList>
)

function ServerCard({ server, isAdmin }: { server: Setting; isAdmin: boolean }) {
  const { name, settings, secrets, editable, origin } = server
  const test = useMutation({
    mutationFn: () => client.call('testMcpServer', { params: { name }, body: {} }),
    meta: { showsError: true },
  })
  const hasLogin = settings['auth'] !== undefined
  const facts =
    typeof settings['url'] === 'string'
      ? settings['url']
      : [settings['command'], ...((settings['args'] ?? []) as string[])].map(String).join(' ')
  return (
    <SettingCard
      kind="mcp_server"
      setting={server}
      facts={<span className="mono">{facts}</span>}
      Fields={ServerFields}
    >
      {secrets.map(secret => (
        <SecretField
          key={secret.name}
          secret={secret}
          label={secret.name}
          canEdit={isAdmin && editable && origin === 'editor'}
          save={value =>
            client.call('setMcpServerSecrets', {
              params: { name },
              body: { secrets: { [secret.name]: value } },
            })
          }
        />
      ))}
      {hasLogin && <p className="faint">{agentsWords.loginServer}</p>}
      {isAdmin && !hasLogin && (
        <ConnectionTest
          name={name}
          isPending={test.isPending}
          onTest={() => test.mutate()}
          testId="test-mcp-server"
        />
      )}
      <TestResult result={test.data} error={test.error} isPending={test.isPending} />
      {test.data !== undefined && test.data.tools.length > 0 && (
        <ul className="list mcp-tools" aria-label={agentsWords.mcpTools(name)}>
          {test.data.tools.map(tool => (
            <li key={tool.name} className="mcp-tool">
              <span className="mono">{tool.name}</span>
              <span className="muted">{tool.description}</span>
            </li>
          ))}
        </ul>
      )}
    </SettingCard>
  )
}

function ServerFields({ form }: { form: Form }) {
  return 'command' in form.settings ? (
    <>
      <SettingField form={form} path="command" />
      <SettingField form={form} path="args" kind="lines" label={agentsWords.args} />
      <SettingField form={form} path="env" kind="lines" label={agentsWords.variables} rows={2} />
      <SettingField form={form} path="read_only" kind="lines" label={agentsWords.readOnlyTools} rows={2} />
    </>
  ) : (
    <>
      <SettingField form={form} path="url" />
      <SettingField form={form} path="headers" kind="lines" label={agentsWords.headers} rows={2} />
      <SettingField form={form} path="read_only" kind="lines" label={agentsWords.readOnlyTools} rows={2} />
    </>
  )
}
