import { expect, test } from 'vitest'
import { ChannelConfig } from './channels.ts'
import { channelForms, composeChannel, secretName } from './channel-forms.ts'

const platforms = ChannelConfig.options.map(({ shape }) => shape.platform.value)

test('every platform but email has a form, without environment names and API addresses', () => {
  const forms = channelForms()
  expect(forms.map(({ platform }) => platform)).toEqual(platforms.filter(name => name !== 'email'))
  for (const { platform, fields } of forms) {
    const keys = fields.map(({ key }) => key)
    expect([platform, keys.filter(key => /_env$|^api_|^platform$/.test(key))]).toEqual([platform, []])
    expect(keys).toContain('access')
  }
  const fieldsOf = (name: string) => forms.find(({ platform }) => platform === name)?.fields
  expect(fieldsOf('webhook')).toContainEqual({
    key: 'secret',
    kind: 'secret',
    required: true,
    hint: 'whsec_ followed by at least 24 bytes in base64',
  })
  expect(fieldsOf('slack')).toContainEqual(
    expect.objectContaining({
      key: 'mode',
      kind: 'choice',
      choices: ['events', 'socket'],
      default: 'socket',
    }),
  )
  expect(fieldsOf('website')).toContainEqual(
    expect.objectContaining({ key: 'access', choices: ['open'], default: 'open' }),
  )
  expect(fieldsOf('whatsapp')).toContainEqual(
    expect.objectContaining({ key: 'template.name', kind: 'text', required: false }),
  )
})

test('settings and secret names compose the configuration that cairn.yaml would contain', () => {
  const settings = { platform: 'webhook', callback_url: 'https://example.org/x', access: 'linked' }
  const composed = composeChannel(settings, ['secret'])
  expect(ChannelConfig.parse(composed)).toMatchObject({ secret_env: 'secret', platform: 'webhook' })
  expect(composeChannel({ imap: { host: 'h' } }, ['imap.password'])).toEqual({
    imap: { host: 'h', password_env: secretName('imap.password') },
  })
  expect(composeChannel({ ...settings, secret_env: 'HOME' }, [])).toBeNull()
  expect(composeChannel({ platform: 'email', smtp: { host: '10.0.0.1' } }, [])).toBeNull()
  expect(composeChannel({ platform: 'slack', api_url: 'http://127.0.0.1/' }, [])).toBeNull()
})
