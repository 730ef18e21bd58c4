; What compilers call without being asked; volatile, so that no loop here becomes a call of itself.
define internal ptr @memset(ptr returned %to, i32 %byte, @SIZE@ %n) #0 {
entry:
  %b = trunc i32 %byte to i8
  br label %test
test:
  %i = phi @SIZE@ [ 0, %entry ], [ %next, %body ]
  %more = icmp ult @SIZE@ %i, %n
  br i1 %more, label %body, label %done
body:
  %at = getelementptr i8, ptr %to, @SIZE@ %i
  store volatile i8 %b, ptr %at
  %next = add @SIZE@ %i, 1
  br label %test
done:
  ret ptr %to
}
define internal ptr @memcpy(ptr returned %to, ptr %from, @SIZE@ %n) #0 {
  %same = call ptr @memmove(ptr %to, ptr %from, @SIZE@ %n)
  ret ptr %same
}
define internal ptr @memmove(ptr returned %to, ptr %from, @SIZE@ %n) #0 {
entry:
  %up = icmp ult ptr %to, %from
  br label %test
test:
  %i = phi @SIZE@ [ 0, %entry ], [ %next, %body ]
  %more = icmp ult @SIZE@ %i, %n
  br i1 %more, label %body, label %done
body:
  %last = sub @SIZE@ %n, 1
  %back = sub @SIZE@ %last, %i
  %k = select i1 %up, @SIZE@ %i, @SIZE@ %back
  %source = getelementptr i8, ptr %from, @SIZE@ %k
  %at = getelementptr i8, ptr %to, @SIZE@ %k
  %b = load i8, ptr %source
  store volatile i8 %b, ptr %at
  %next = add @SIZE@ %i, 1
  br label %test
done:
  ret ptr %to
}
@llvm.used = appending global [3 x ptr] [ptr @memset, ptr @memcpy, ptr @memmove], section "llvm.metadata"
attributes #0 = { noinline nounwind "no-builtins" }
