// ends: exit 1
Promise.reject({ not: 'an error' })
