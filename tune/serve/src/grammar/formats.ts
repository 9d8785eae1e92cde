/** Supported string formats, each as a regular expression for the values that are generated. */
const day = '(19|20)[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|1[0-9]|2[0-8])'
const time = '([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?(Z|[+-](0[0-9]|1[0-3]):[0-5][0-9])'
const byte = '(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])'
const label = '[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?'

export const FORMATS: Readonly<Record<string, string>> = {
  date: day,
  time,
  'date-time': `${day}T${time}`,
  duration: 'P([0-9]{1,4}D(T[0-9]{1,4}H)?|T[0-9]{1,4}[HMS])',
  email: `[a-z0-9_+-]{1,30}(\\.[a-z0-9_+-]{1,30})?@${label}(\\.${label}){0,2}\\.[a-z]{2,10}`,
  hostname: `${label}(\\.${label}){0,3}`,
  ipv4: `${byte}(\\.${byte}){3}`,
  ipv6: '([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}',
  uuid: '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}',
  uri: `https?://${label}(\\.${label}){1,3}(/[A-Za-z0-9._~-]{1,60}){0,8}`,
}
