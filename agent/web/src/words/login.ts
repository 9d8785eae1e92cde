/** Login and passwords. */

export const loginWords = {
  form: 'Log in',
  ended: 'Your session expired. Log in to continue where you were.',
  loggingIn: 'Logging in',
  noPassword:
    'No password yet? Open a login link. ' +
    'The server printed one on its first start, and {command} prints a new one. Each link works once.',
  email: 'Email',
  password: 'Password',
  passwordSet: 'Password set',
  setPassword: 'Set password',
  currentPassword: 'Current password',
  forgot: 'Forgot your password? Ask an administrator for a new login link and paste it into this field.',
  newPassword: 'New password',
  passwordHint: 'At least 10 characters',
}
