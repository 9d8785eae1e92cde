// The offline page: it opens the address again when the network is back, or on request.
document.getElementById('retry').addEventListener('click', () => location.reload())
addEventListener('online', () => location.reload())
