# Sourced: writes small.ids.u8 and small.json. 6 tokens, 2 layers, top 2 of 4 experts; requests of 4 and 2 tokens.
printf '\0\1\2\3\1\2\3\0\2\3\0\1\3\0\1\2\0\2\1\3\1\3\0\2' > small.ids.u8
cat > small.json << 'END'
{"model":"small","experts":4,"topk":2,"layers":2,"tokens":6,
 "requests":[{"prompt_tokens":10,"tokens":4,"offset":0},{"prompt_tokens":20,"tokens":2,"offset":4}]}
END
