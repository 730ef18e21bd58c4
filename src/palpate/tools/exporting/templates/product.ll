; 128 bits of a product, which machines of 32 bits call; not optimised, so that it is not taken for one itself.
define internal void @__multi3(ptr %out, i64 %a, i64 %ah, i64 %b, i64 %bh) #0 {
  %a0 = and i64 %a, 4294967295
  %a1 = lshr i64 %a, 32
  %b0 = and i64 %b, 4294967295
  %b1 = lshr i64 %b, 32
  %low = mul i64 %a0, %b0
  %one = mul i64 %a1, %b0
  %other = mul i64 %a0, %b1
  %top = mul i64 %a1, %b1
  %carry = lshr i64 %low, 32
  %one0 = and i64 %one, 4294967295
  %other0 = and i64 %other, 4294967295
  %m = add i64 %carry, %one0
  %middle = add i64 %m, %other0
  %one1 = lshr i64 %one, 32
  %other1 = lshr i64 %other, 32
  %over = lshr i64 %middle, 32
  %h1 = add i64 %top, %one1
  %h2 = add i64 %h1, %other1
  %h3 = add i64 %h2, %over
  %cross = mul i64 %a, %bh
  %cross2 = mul i64 %ah, %b
  %h4 = add i64 %h3, %cross
  %high = add i64 %h4, %cross2
  %whole = mul i64 %a, %b
  store i64 %whole, ptr %out
  %at = getelementptr i64, ptr %out, i32 1
  store i64 %high, ptr %at
  ret void
}
@llvm.used = appending global [1 x ptr] [ptr @__multi3], section "llvm.metadata"
attributes #0 = { noinline optnone nounwind "no-builtins" }
