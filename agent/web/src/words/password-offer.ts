/** The offer of a password. Apart from the words of the login, because the first page loads them. */
export const passwordOfferWords = {
  label: 'Password',
  text: 'Set a password so you can log in again',
  set: 'Set password',
  notNow: 'Not now',
}
